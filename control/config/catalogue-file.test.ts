import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findLanguageModel, findRecognitionModel, findVoice } from '../../media/vendors/catalogue.js'
import { VENDOR_MODULES } from '../../media/vendors/registry.js'
import { Catalogue } from './catalogue-file.js'
import { readSettings } from './settings.js'

const KEYS = { PARLEY_SARVAM_API_KEY: 's', PARLEY_DEEPGRAM_API_KEY: 'd' }
const CHECKED = { checkedOn: '2026-11-22' }

/** Returns a temporary folder that holds `c.json`. */
function folderWith(t: Test, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-catalogue-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'c.json'), text)
  return folder
}

t.test('the built-in catalogues have the format of an operator’s file', async (t) => {
  for (const module of VENDOR_MODULES) {
    const { success, error } = Catalogue.safeParse(module.catalogue())
    t.ok(success, `${module.id}: ${error?.message}`)
  }
})

t.test('a catalogue file adds and replaces entries', async (t) => {
  const folder = folderWith(
    t,
    JSON.stringify({
      deepgram: {
        recognitionModels: [
          { model: 'nova-9', label: 'Nova 9', languages: ['en-IN'], modes: ['transcribe'], ...CHECKED },
        ],
      },
      sarvam: {
        speechModels: [
          {
            model: 'bulbul:v3',
            languages: ['en-IN'],
            paceMin: 1,
            paceMax: 2,
            voices: [{ name: 'nila', gender: 'female' }],
            ...CHECKED,
          },
        ],
      },
    }),
  )
  const { providers } = readSettings({ ...KEYS, PARLEY_CATALOGUE_FILE: 'c.json' }, folder)
  t.match(findRecognitionModel('nova-9', providers), { label: 'Nova 9', unlisted: undefined })
  t.match(findVoice('bulbul:v3', 'nila', providers), { gender: 'female', languages: ['en-IN'] })
  t.equal(findVoice('bulbul:v3', 'shubh', providers), null, 'the entry of the same model is replaced')
  t.ok(findVoice('bulbul:v2', 'karun', providers))
})

t.test('an invalid catalogue file stops the start and names the entry', async (t) => {
  const wrong: readonly (readonly [text: string, fix: RegExp])[] = [
    ['{', /PARLEY_CATALOGUE_FILE=.*JSON/],
    ['{"sarvam":{"languageModels":[{"model":"x"}]}}', /correct sarvam.languageModels.0.checkedOn/],
    ['{"sarvam":{"languageModels":[{"checkedOn":"2026-11-22"}]}}', /needs either model or pattern/],
    ['{"sarvam":{"models":[]}}', /correct sarvam/],
  ]
  for (const [text, fix] of wrong) {
    const folder = folderWith(t, text)
    t.throws(() => readSettings({ ...KEYS, PARLEY_CATALOGUE_FILE: 'c.json' }, folder), {
      code: 'config_invalid',
      message: fix,
    })
  }
})

t.test('an unlisted name is accepted if a configured vendor may have it', async (t) => {
  const { providers } = readSettings(KEYS, '/nowhere')
  t.match(findRecognitionModel('nova-7', providers), { vendor: 'deepgram', unlisted: true })
  t.match(findVoice('bulbul:v9', 'anyone', providers), { vendor: 'sarvam', unlisted: true })
  t.match(findLanguageModel('sarvam-500b', providers), { vendor: 'sarvam', unlisted: true })
  t.equal(findLanguageModel('gpt-9', providers), null, 'no OpenAI endpoint is configured')
  const openai = readSettings({ ...KEYS, PARLEY_OPENAI_API_KEY: 'o' }, '/nowhere').providers
  t.match(findLanguageModel('gpt-9', openai), { vendor: 'openai', windowTokens: 128_000, unlisted: true })
  t.match(findLanguageModel('gpt-realtime-9', openai), { vendor: 'openai-realtime' })
})
