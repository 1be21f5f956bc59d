import { catalogueFile } from '../shared/catalogue-file.js'
import type { VendorModule } from '../vendor-module.js'
import { openAiLanguageModel } from './llm.js'
import type { OpenAiSettings } from './settings.js'

const SECOND = 'openai-second'

interface SecondChatSettings extends Pick<OpenAiSettings, 'baseUrl' | 'apiKey'> {
  readonly model: string
}

/** A second endpoint for chat completions. The fallback variables set it (`PARLEY_LLM_FALLBACK_URL`). */
export const SECOND_CHAT = {
  id: 'secondChat',
  variables: [],
  requires: [],
  catalogue: catalogueFile('openai'),
  offers: ({ model }) => [{ vendor: SECOND, languageModels: [model] }],
  open: (settings, deps) => ({
    [SECOND]: { languageModel: openAiLanguageModel(settings, deps, { id: SECOND }) },
  }),
} as const satisfies VendorModule<'secondChat', SecondChatSettings>
