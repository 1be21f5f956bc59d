import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import type { LanguageModel } from '../../media/agent/vendor-ports.js'
import { silentLog } from '../../media/base/log.js'
import { findLanguageModel, findVoice, languageModels, voices } from '../../media/vendors/catalogue.js'
import { openVendors } from '../../media/vendors/open-vendors.js'
import { VENDOR_MODULES } from '../../media/vendors/registry.js'
import type { VendorModule } from '../../media/vendors/vendor-module.js'
import { readVendors } from './vendors.js'

interface AcmeSettings {
  readonly apiKey: string
  readonly host: string
  readonly voices: readonly { readonly name: string; readonly id: string }[]
}

/** All that a new vendor adds, except its line in `registry.ts`. */
const ACME = {
  id: 'acme',
  variables: [
    { name: 'PARLEY_ACME_KEY', default: '', description: 'Acme', secret: true },
    { name: 'PARLEY_ACME_HOST', default: 'wss://acme.example', description: 'Host' },
    { name: 'PARLEY_ACME_VOICES', default: '', description: 'Voices' },
  ],
  requires: ['PARLEY_ACME_KEY'],
  readSettings: (reader) => ({
    apiKey: reader.text('PARLEY_ACME_KEY'),
    host: reader.socketUrl('PARLEY_ACME_HOST'),
    voices: reader.voices('PARLEY_ACME_VOICES'),
  }),
  catalogue: () => ({
    acme: {
      languageModels: [
        { model: 'acme-1', label: 'Acme', windowTokens: 9000, checkedOn: '2026-11-22' },
        { pattern: '^acme-', checkedOn: '2026-11-22' },
      ],
      speechModels: [
        { model: 'say-1', languages: ['en-IN'], paceMin: 1, paceMax: 2, checkedOn: '2026-11-22' },
      ],
    },
  }),
  offers: (settings) => [{ vendor: 'acme', voices: settings.voices.map(({ name }) => name) }],
  open: () => ({ acme: { languageModel: { id: 'acme' } as LanguageModel } }),
} as const satisfies VendorModule<'acme', AcmeSettings>

const MODULES = [...VENDOR_MODULES, ACME]

function read(variables: Readonly<Record<string, string>>) {
  const rejected: string[] = []
  const settings = readVendors(
    (name) => variables[name] ?? null,
    (name, fallback, parse) => {
      const parsed = parse(variables[name] ?? fallback)
      if (parsed.ok) return parsed.value
      rejected.push(`${name}: ${parsed.fix}`)
      return null
    },
    MODULES,
  )
  return { settings: settings as Record<string, unknown>, rejected }
}

t.test('a new vendor is a module and a line: settings, catalogue and adapters follow', async (t) => {
  const { settings, rejected } = read({ PARLEY_ACME_KEY: 'k', PARLEY_ACME_VOICES: 'eve=id-1' })
  t.same(rejected, [])
  t.same(settings.acme, {
    apiKey: 'k',
    host: 'wss://acme.example',
    voices: [{ name: 'eve', id: 'id-1' }],
  })
  t.match(languageModels(settings, MODULES).at(-1), {
    vendor: 'acme',
    llmModel: 'acme-1',
    windowTokens: 9000,
  })
  t.match(voices(settings, MODULES).at(-1), {
    vendor: 'acme',
    ttsModel: 'say-1',
    ttsVoice: 'eve',
    paceMax: 2,
  })
  t.equal(findVoice('say-1', 'adam', settings, MODULES), null)
  t.match(findLanguageModel('acme-2', settings, MODULES), { vendor: 'acme', unlisted: true })
  const synthesis = { synthesize: () => Promise.reject(new Error('unused')) }
  const vendors = openVendors({
    providers: settings,
    modules: MODULES,
    synthesis,
    clock: new VirtualClock(),
    log: silentLog,
  })
  t.equal(vendors.languageModel('acme').id, 'acme')
  t.throws(() => vendors.textToSpeech('acme'), { code: 'config_invalid' })
})

t.test('a vendor without its key is absent, and its other variables are rejected', async (t) => {
  const { settings, rejected } = read({ PARLEY_ACME_HOST: 'wss://x.example' })
  t.equal(settings.acme, null)
  t.same(rejected, ['PARLEY_ACME_HOST: also set PARLEY_ACME_KEY, or remove it'])
  t.equal(findLanguageModel('acme-1', settings, MODULES), null)
})

t.test('the names of variables and modules are unique', async (t) => {
  for (const names of [
    VENDOR_MODULES.map(({ id }) => id as string),
    VENDOR_MODULES.flatMap(({ variables }: VendorModule) => variables.map(({ name }) => name)),
  ]) {
    t.equal(new Set(names).size, names.length)
  }
})
