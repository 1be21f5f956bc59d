import type { ProviderSettings } from '../../workers/channel/protocol.js'
import { choice, invalid, type Parsed, socketUrl, text, voiceNames } from './parsers.js'

/** The speech vendors' variables; each vendor is there when its key is set. */
export const VENDOR_VARIABLES = [
  { name: 'PARLEY_DEEPGRAM_API_KEY', default: '', description: 'Deepgram recognition', secret: true },
  {
    name: 'PARLEY_DEEPGRAM_URL',
    default: 'wss://api.deepgram.com',
    description: 'Its host; wss://api.in.deepgram.com is in India',
  },
  {
    name: 'PARLEY_SARVAM_API_KEY',
    default: '',
    description: 'Sarvam recognition and synthesis',
    secret: true,
  },
  { name: 'PARLEY_SARVAM_URL', default: 'wss://api.sarvam.ai', description: 'Its host' },
  {
    name: 'PARLEY_SARVAM_LANGUAGE_FIELD',
    default: 'target_language_code',
    description: 'Name of the language field of its synthesis: target_language_code or language_code',
  },
  { name: 'PARLEY_ELEVENLABS_API_KEY', default: '', description: 'ElevenLabs synthesis', secret: true },
  {
    name: 'PARLEY_ELEVENLABS_URL',
    default: 'wss://api.elevenlabs.io',
    description: 'Its host; wss://api.in.residency.elevenlabs.io is in India',
  },
  {
    name: 'PARLEY_ELEVENLABS_VOICES',
    default: '',
    description: 'Its voices as agents name them: name=voice-id, comma-separated',
  },
  { name: 'PARLEY_CARTESIA_API_KEY', default: '', description: 'Cartesia synthesis', secret: true },
  { name: 'PARLEY_CARTESIA_URL', default: 'wss://api.cartesia.ai', description: 'Its host' },
  { name: 'PARLEY_CARTESIA_VERSION', default: '2026-03-01', description: 'Version of its API' },
  {
    name: 'PARLEY_CARTESIA_VOICES',
    default: '',
    description: 'Its voices as agents name them: name=voice-id, comma-separated',
  },
] as const

type Name = (typeof VENDOR_VARIABLES)[number]['name']
type Read = <T>(name: Name, fallback: string, parse: (value: string) => Parsed<T>) => T | null

/** Null for each vendor without a key; its other variables are refused then. */
export function readVendors(
  given: (name: Name) => string | null,
  read: Read,
): Required<Pick<ProviderSettings, 'deepgram' | 'sarvam' | 'elevenlabs' | 'cartesia'>> {
  const key = (vendor: 'DEEPGRAM' | 'SARVAM' | 'ELEVENLABS' | 'CARTESIA'): string | null => {
    const name = `PARLEY_${vendor}_API_KEY` as const
    const stray = VENDOR_VARIABLES.map((variable) => variable.name).find(
      (other) => other !== name && other.startsWith(`PARLEY_${vendor}_`) && given(other) !== null,
    )
    if (given(name) === null && stray !== undefined)
      read(stray, '', () => invalid(`also set ${name}, or remove it`))
    return given(name)
  }
  const address = (name: Name, fallback: string): string => read(name, fallback, socketUrl) ?? ''
  const voices = (name: Name): readonly { readonly name: string; readonly id: string }[] =>
    given(name) === null ? [] : (read(name, '', voiceNames) ?? [])

  const deepgram = key('DEEPGRAM')
  const sarvam = key('SARVAM')
  const elevenlabs = key('ELEVENLABS')
  const cartesia = key('CARTESIA')
  return {
    deepgram:
      deepgram === null
        ? null
        : { apiKey: deepgram, baseUrl: address('PARLEY_DEEPGRAM_URL', 'wss://api.deepgram.com') },
    sarvam:
      sarvam === null
        ? null
        : {
            apiKey: sarvam,
            baseUrl: address('PARLEY_SARVAM_URL', 'wss://api.sarvam.ai'),
            languageField:
              read(
                'PARLEY_SARVAM_LANGUAGE_FIELD',
                'target_language_code',
                choice('target_language_code', 'language_code'),
              ) ?? 'target_language_code',
          },
    elevenlabs:
      elevenlabs === null
        ? null
        : {
            apiKey: elevenlabs,
            baseUrl: address('PARLEY_ELEVENLABS_URL', 'wss://api.elevenlabs.io'),
            voices: voices('PARLEY_ELEVENLABS_VOICES'),
          },
    cartesia:
      cartesia === null
        ? null
        : {
            apiKey: cartesia,
            baseUrl: address('PARLEY_CARTESIA_URL', 'wss://api.cartesia.ai'),
            version: read('PARLEY_CARTESIA_VERSION', '2026-03-01', text) ?? '',
            voices: voices('PARLEY_CARTESIA_VOICES'),
          },
  }
}
