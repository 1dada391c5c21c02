import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

export default ts.config(
  { ignores: ['dist/', 'src/lib/api/schema.ts'] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  ...svelte.configs.prettier,
  { languageOptions: { globals: { ...globals.browser, ...globals.node } } },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    languageOptions: {
      parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig },
    },
  },
  // Only what a view observes has to be reactive; the rule cannot tell.
  { rules: { 'svelte/prefer-svelte-reactivity': 'off' } },
  // The tiers: shared knows nothing of machines, domain nothing of views, and nothing under lib
  // knows a component.
  tier('src/components/shared/**', ['$components/domain/*', '$components/views/*', '$lib/state/*']),
  tier('src/components/domain/**', ['$components/views/*']),
  tier('src/lib/**', ['$components/*']),
  // French has narrow spaces before some signs.
  {
    files: ['src/lib/words/fr.ts'],
    rules: { 'no-irregular-whitespace': ['error', { skipTemplates: true }] },
  },
  // The words that build/tools/.textlintrc.json keeps out of documents.
  {
    files: ['src/lib/words/en.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...['Literal[value', 'TemplateElement[value.raw'].map((text) => ({
          selector: `${text}=/\\b(anew|whoever|for ever|as a rule|in order to|prior to|behaviour|colour)\\b/i]`,
          message: 'Say it in plainer words: see CONTRIBUTING.md.',
        })),
      ],
    },
  },
);

function tier(files, group) {
  return {
    files: [files],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ group }] }] },
  };
}
