"""Ask each user about some of the attributes only, at the whole budget: one question, or several answered together."""

from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.sampled.one_question import OneQuestion

__all__ = ["AskSome", "OneQuestion"]
