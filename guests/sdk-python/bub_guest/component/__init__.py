"""What a component has beside the plugin: it translates between this package and the bindings of the contracts."""
