"""How do answers depend on each other? Joint tables and what follows from them."""
