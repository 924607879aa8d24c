"""Where threads go: pure functions over what saved queries say of a host."""
