"""What runs read from files and wrote into them."""
