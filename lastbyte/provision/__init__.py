"""Getting what a machine lacks: packages, clients, origins; and the doctor that says so."""
