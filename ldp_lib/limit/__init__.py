"""The limit: the least error that any unbiased locally private mechanism can have, and which mechanism has it."""

from ldp_lib.limit._any_population import LawCertificate
from ldp_lib.limit._given_population import TableCertificate
from ldp_lib.limit._uniform import Cells
from ldp_lib.limit.bound import fixed_data_error, least_error
from ldp_lib.limit.certificates import Limit, SetCertificate
from ldp_lib.limit.checks import check_certificate
from ldp_lib.limit.linear_targets import linear_error, prefixes
from ldp_lib.limit.minimax import minimax_error

__all__ = [
    "Cells",
    "LawCertificate",
    "Limit",
    "SetCertificate",
    "TableCertificate",
    "check_certificate",
    "fixed_data_error",
    "least_error",
    "linear_error",
    "minimax_error",
    "prefixes",
]
