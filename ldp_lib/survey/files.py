"""Reports as a flat table of integers, one row a user: data frames and files that say of which survey they are."""

from ldp_lib.survey._files import from_frame, read, to_frame, write

__all__ = ["from_frame", "read", "to_frame", "write"]
