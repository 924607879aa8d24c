"""What everything stands on: settings, errors, Linux, stores."""
