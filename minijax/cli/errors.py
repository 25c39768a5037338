"""The one exception that the command line turns into a line of text instead of a traceback."""


class Failure(Exception):
    """What the user should know, on one line. Exit code 2 means bad arguments, 1 the rest."""

    def __init__(self, message: str, exit_code: int = 2):
        super().__init__(" ".join(message.split()))
        self.exit_code = exit_code
