import { z } from 'zod'
import { breakerKey } from '../../media/agent/circuit-breaker.js'
import {
  type CatalogueProviders,
  languageModels,
  retirementOf,
  voices,
} from '../../media/vendors/catalogue.js'
import { listOperation } from '../api/operation.js'
import { openEnum } from '../base/schemas.js'

const Voice = z.object({
  ttsModel: z.string(),
  ttsVoice: z.string(),
  gender: openEnum('female', 'male', 'neutral'),
  languages: z.array(z.string()),
  sttModels: z.array(z.string()),
  paceMin: z.number(),
  paceMax: z.number(),
})

export const listVoices = listOperation({
  id: 'listVoices',
  path: '/v1/voices',
  tag: 'Agents',
  summary: 'List voices',
  description: 'Each voice lists the speech recognition models that can be used with it.',
  audience: 'key',
  scope: 'read',
  result: Voice,
  paged: false,
  fails: [],
  run: ({ deps }) => ({
    items: voices(deps.settings.providers).map((voice) => ({
      ttsModel: voice.ttsModel,
      ttsVoice: voice.ttsVoice,
      gender: voice.gender,
      languages: [...voice.languages],
      sttModels: [...voice.sttModels],
      paceMin: voice.paceMin,
      paceMax: voice.paceMax,
    })),
    next: null,
  }),
})

const Model = z.object({
  llmModel: z.string(),
  label: z.string(),
  available: z.boolean().meta({
    description:
      'Whether the model answers. False for at least half a minute after several failures in a row on calls.',
  }),
  retiresOn: z.iso.date().nullable().meta({
    description: 'Date from which the vendor does not serve the model any more; null when none is known.',
  }),
  successor: z.string().nullable().meta({ description: 'Model that the vendor recommends instead.' }),
})

export const listModels = listOperation({
  id: 'listModels',
  path: '/v1/models',
  tag: 'Agents',
  summary: 'List language models',
  description: 'Lists the models of the configured vendors.',
  audience: 'key',
  scope: 'read',
  result: Model,
  paged: false,
  fails: [],
  run: async ({ deps }) => {
    const failing = new Set(await deps.openCircuits())
    // Models that are not configured are not in the catalogue.
    return {
      items: languageModels(deps.settings.providers).map(({ vendor, llmModel, label }) => ({
        llmModel,
        label,
        available: !failing.has(breakerKey('language_model', vendor, llmModel)),
        ...retirement(vendor, llmModel, deps.settings.providers),
      })),
      next: null,
    }
  },
})

function retirement(vendor: string, model: string, providers: CatalogueProviders) {
  const found = retirementOf('languageModels', vendor, model, providers)
  return { retiresOn: found?.retiresOn ?? null, successor: found?.successor ?? null }
}
