"""Grade submissions: their programs run fenced in, and what they answer is judged here as plain data.

For instructors only; students get nothing of this.
"""
