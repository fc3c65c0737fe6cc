"""The hooks of coding agents: the process, its sessions and their state."""
