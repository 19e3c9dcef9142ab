"""The scenes: one short file each (data + network + loss + optimiser + what to show). Copy one to start your own."""
