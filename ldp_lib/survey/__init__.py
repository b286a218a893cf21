"""A survey of your own: labelled data, planning, files, aggregation, audit."""

from ldp_lib.survey.frame import Survey

__all__ = ["Survey"]
