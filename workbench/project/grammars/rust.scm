; Items of modules, traits and impl blocks, from their first attribute on.

[
  (function_item (visibility_modifier)? @public name: (_) @name body: (_) @body)
  (function_signature_item (visibility_modifier)? @public name: (_) @name)
] @definition.function

[
  (struct_item (visibility_modifier)? @public name: (_) @name body: (_)? @body)
  (enum_item (visibility_modifier)? @public name: (_) @name body: (_) @body)
  (union_item (visibility_modifier)? @public name: (_) @name body: (_) @body)
] @definition.class

((trait_item (visibility_modifier)? @public name: (_) @name body: (_) @body @members) @definition.type
  (#set! members inherited))

((type_item (visibility_modifier)? @public name: (_) @name) @definition.type
  (#set! among others))

[
  (const_item (visibility_modifier)? @public name: (_) @name)
  (static_item (visibility_modifier)? @public name: (_) @name)
] @definition.constant

((macro_definition name: (_) @name . (macro_rule)? @body) @definition.function
  (#set! exported macro_export))

; `mod name;` only points at a file: it is an import
(mod_item (visibility_modifier)? @public name: (_) @name body: (_) @body @scope) @definition.module

((impl_item trait: (_) type: (_) @name body: (_) @body @members) @definition.impl
  (#set! members public)
  (#set! exported))

((impl_item !trait type: (_) @name body: (_) @body @members) @definition.impl
  (#set! exported))

(attribute_item) @attribute

[(foreign_mod_item) (declaration_list) (ERROR)] @inside
