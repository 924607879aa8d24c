"""Why a series has data or not."""
