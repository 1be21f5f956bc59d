import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import { anthropicLanguageModel } from './llm.js'
import type { AnthropicSettings } from './settings.js'

export const ANTHROPIC = {
  id: 'anthropic',
  variables: [
    {
      name: 'PARLEY_ANTHROPIC_API_KEY',
      default: '',
      description: 'Anthropic API key (language models)',
      secret: true,
    },
    { name: 'PARLEY_ANTHROPIC_URL', default: 'https://api.anthropic.com', description: 'Anthropic URL' },
    {
      name: 'PARLEY_ANTHROPIC_MAX_TOKENS',
      default: '1024',
      description: 'Upper bound of the tokens of one reply, with its tool calls',
    },
    {
      name: 'PARLEY_ANTHROPIC_DEADLINE_MS',
      default: 'learnt from 1800',
      description: 'Longest wait for the first token of a reply; at most 1200 when another model can answer',
    },
    {
      name: 'PARLEY_ANTHROPIC_EXTRA',
      default: '{}',
      description: 'JSON object of fields for every request, for example {"service_tier":"auto"}',
    },
  ],
  requires: ['PARLEY_ANTHROPIC_API_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_ANTHROPIC_API_KEY'),
    baseUrl: reader.httpUrl('PARLEY_ANTHROPIC_URL'),
    maxTokens: reader.integer('PARLEY_ANTHROPIC_MAX_TOKENS', 64, 64_000),
    firstTokenMs:
      reader.given('PARLEY_ANTHROPIC_DEADLINE_MS') === null
        ? undefined
        : reader.integer('PARLEY_ANTHROPIC_DEADLINE_MS', 300, 20_000),
    extra: reader.jsonObject('PARLEY_ANTHROPIC_EXTRA'),
  }),
  catalogue: catalogueFile('anthropic'),
  open: (settings, deps) => ({ anthropic: { languageModel: anthropicLanguageModel(settings, deps) } }),
} as const satisfies VendorModule<'anthropic', AnthropicSettings>
