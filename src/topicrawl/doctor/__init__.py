"""What is wrong, and what to do about it: the installation, the machine, a collection. Looking changes nothing."""
