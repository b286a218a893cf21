"""Settings of the course; nbgrader reads them from the folder that it runs in."""

c = get_config()  # noqa: F821  (nbgrader gives it)
c.CourseDirectory.course_id = "ldp"
# A task that takes longer gets no points: an endless loop, for example.
c.ExecutePreprocessor.timeout = 60
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\nraise NotImplementedError()"}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
