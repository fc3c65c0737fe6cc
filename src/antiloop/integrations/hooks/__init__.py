"""What the hooks of coding agents have in common: the process, its sessions and their state."""
