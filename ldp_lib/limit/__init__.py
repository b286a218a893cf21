"""The limit: the least error that any locally private mechanism can have, and which mechanism has it."""

from ldp_lib.limit.bound import Limit, SetCertificate, check_certificate, least_error
from ldp_lib.limit.law import LawCertificate
from ldp_lib.limit.table import TableCertificate

__all__ = ["LawCertificate", "Limit", "SetCertificate", "TableCertificate", "check_certificate", "least_error"]
