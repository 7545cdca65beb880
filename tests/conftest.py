"""Being here puts this folder on the import path of the tests: `from models import build`."""
