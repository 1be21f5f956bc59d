import { espeakTextToSpeech } from '../espeak/tts.js'
import { catalogueFile } from '../shared/catalogue-file.js'
import { EMBEDDED } from '../vendor-ids.js'
import type { VendorModule } from '../vendor-module.js'
import { rulesLanguageModel } from './llm.js'
import { sandboxSpeechToText } from './stt.js'

/** The vendor without an account: always enabled. */
export const EMBEDDED_VENDOR = {
  id: EMBEDDED,
  variables: [],
  requires: [],
  readSettings: () => ({}),
  catalogue: catalogueFile('embedded'),
  open: (_settings, { synthesis }) => ({
    [EMBEDDED]: {
      speechToText: sandboxSpeechToText(),
      textToSpeech: espeakTextToSpeech(synthesis),
      languageModel: rulesLanguageModel(),
    },
  }),
} as const satisfies VendorModule<typeof EMBEDDED>
