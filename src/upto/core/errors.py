"""Errors a user can act on: each says what happened, with the numbers, and what to do."""


class UptoError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(UptoError, ValueError):
    """The data cannot be used as given. The command line exits with 3."""


class MissingExtraError(InputError):
    """A reader or renderer needs an optional dependency that is not installed."""

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package}, which is not installed: "
            f"run `pip install 'upto[{extra}]'`."
        )
