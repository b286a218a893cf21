"""Settings of the course; nbgrader reads them from the folder that it runs in."""

import sys

sys.path.insert(0, __file__.rpartition("/")[0] or ".")
from grader.step import Mark
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    IgnorePattern,
    LimitOutput,
    SaveAutoGrades,
)

c = get_config()  # noqa: F821  (nbgrader gives it)
c.CourseDirectory.course_id = "ldp"
# `Mark` runs submissions fenced in, and marks their answers in a process that holds no code of theirs.
c.Autograde.autograde_preprocessors = [
    Mark,
    IgnorePattern,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
# A cell that takes longer is stopped.
c.Mark.seconds = 60
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError()"}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
