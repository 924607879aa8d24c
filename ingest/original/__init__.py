"""The probe files of the original SuperTwin."""
