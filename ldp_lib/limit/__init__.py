"""The limit: the least error that any locally private mechanism can have, and which mechanism has it."""

from ldp_lib.limit.any_population import LawCertificate
from ldp_lib.limit.bound import Limit, SetCertificate, check_certificate, least_error
from ldp_lib.limit.given_population import TableCertificate

__all__ = ["LawCertificate", "Limit", "SetCertificate", "TableCertificate", "check_certificate", "least_error"]
