"""Foundations for all other folders: settings, errors, Linux, stores."""
