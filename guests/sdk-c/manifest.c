// Puts `manifest.json` into the component, as the section that the host reads.
__asm__(".section \".custom_section.bub:manifest\",\"\",@\n"
        ".incbin \"manifest.json\"\n"
        ".text\n");
