"""Every setting, the state folder, accounts of the stores."""
