"""Who may act for the service itself: look at any account, give credits, and stake from the account of the house."""

from buraco_service.access.api_keys import ApiKeyMissing, ApiKeys


class Operators:
    """Callers with an API key; where the service has none, everybody in development mode and nobody else."""

    def __init__(self, api_keys: ApiKeys, *, development: bool) -> None:
        self._api_keys = api_keys
        self._development = development

    def includes(self, caller: str | None) -> bool:
        """Return True if the caller, by the name of its API key, may act for the service."""
        return caller is not None or (self._development and not self._api_keys.are_used)

    def check(self, caller: str | None) -> None:
        """Raise API_KEY_MISSING unless `includes`."""
        if not self.includes(caller):
            raise ApiKeyMissing
