import t from 'tap'
import type { SessionRate } from '../../base/frame.js'
import { isEspeakInstalled } from './installed.js'
import type { Synthesis } from './synthesis-port.js'
import { type EspeakSynthesizer, openEspeak } from './synthesizer.js'
import { ESPEAK_VOICES, espeakName, espeakRate, VOICE_LANGUAGES, type VoiceLanguage } from './voices.js'

const SENTENCES: Readonly<Record<VoiceLanguage, string>> = {
  'en-IN': 'Hello, how are you today?',
  'hi-IN': 'नमस्ते, आप कैसे हैं?',
  'bn-IN': 'নমস্কার, আপনি কেমন আছেন?',
  'ta-IN': 'வணக்கம், நீங்கள் எப்படி இருக்கிறீர்கள்?',
  'te-IN': 'నమస్కారం, మీరు ఎలా ఉన్నారు?',
  'kn-IN': 'ನಮಸ್ಕಾರ, ನೀವು ಹೇಗಿದ್ದೀರಿ?',
  'ml-IN': 'നമസ്കാരം, സുഖമാണോ നിങ്ങൾക്ക്?',
  'mr-IN': 'नमस्कार, तुम्ही कसे आहात?',
  'gu-IN': 'નમસ્તે, તમે કેમ છો?',
  'pa-IN': 'ਸਤ ਸ੍ਰੀ ਅਕਾਲ, ਤੁਸੀਂ ਕਿਵੇਂ ਹੋ?',
  'od-IN': 'ନମସ୍କାର, ଆପଣ କେମିତି ଅଛନ୍ତି?',
}

function speak(
  engine: EspeakSynthesizer,
  text: string,
  options: { voice?: string; language?: string; pace?: number; rate?: SessionRate; limitMs?: number } = {},
): Synthesis {
  const { voice = 'asha', language = 'en-IN', pace = 1, rate = 8000, limitMs = 10_000 } = options
  return engine.synthesize({ text, voice, language, pace, rate }, limitMs)
}

function loudness(pcm: Int16Array): number {
  return Math.sqrt(pcm.reduce((sum, value) => sum + value * value, 0) / Math.max(1, pcm.length))
}

t.test('without the optional package the error says what to install', async (t) => {
  const absent = () => Promise.reject(new Error('Cannot find package'))
  await t.rejects(openEspeak(absent), {
    code: 'config_invalid',
    message: 'the embedded voices need: npm install @echogarden/espeak-ng-emscripten',
  })
  t.equal(isEspeakInstalled(), true)
  t.equal(
    isEspeakInstalled(() => {
      throw new Error('Cannot find package')
    }),
    false,
  )
})

t.test('the embedded synthesiser', async (t) => {
  const engine = await openEspeak()

  t.test('speaks all eleven languages, with the times of every word', async (t) => {
    for (const language of VOICE_LANGUAGES) {
      const text = SENTENCES[language]
      const { pcm, words } = speak(engine, text, { language })
      const seconds = pcm.length / 8000
      t.ok(seconds > 0.8 && seconds < 5, `${language}: ${seconds} s`)
      t.ok(loudness(pcm) > 500, `${language} is heard`)
      t.same(
        words.map(({ textOffset, length }) => text.slice(textOffset, textOffset + length)),
        text.split(' '),
        `${language}: every word with its offset`,
      )
      t.ok(
        words.every(({ atMs }, i) => atMs < seconds * 1000 && (i === 0 || atMs > (words[i - 1]?.atMs ?? 0))),
        `${language}: in order and within the sound`,
      )
    }
  })

  t.test('a word is where its audio is', async (t) => {
    const { pcm, words } = speak(engine, 'One. Two.')
    const second = words[1]?.atMs ?? 0
    // Between the sentences lies a pause that ends where the second word begins.
    const before = pcm.subarray((second - 150) * 8, (second - 30) * 8)
    const after = pcm.subarray((second + 30) * 8, (second + 200) * 8)
    t.ok(loudness(before) < loudness(after) / 10, `${loudness(before)} before, ${loudness(after)} after`)
  })

  t.test('voices differ, rates and paces are applied', async (t) => {
    const sounds = ESPEAK_VOICES.map(({ voice }) =>
      speak(engine, 'Hello there.', { voice, language: 'hi-IN' }),
    )
    t.equal(new Set(sounds.map(({ pcm }) => pcm.join())).size, ESPEAK_VOICES.length)
    const normal = speak(engine, SENTENCES['en-IN']).pcm.length
    const wide = speak(engine, SENTENCES['en-IN'], { rate: 16_000 }).pcm.length
    t.ok(Math.abs(wide - 2 * normal) < 400, `${wide} samples at 16 kHz, ${normal} at 8 kHz`)
    t.ok(speak(engine, SENTENCES['en-IN'], { pace: 2 }).pcm.length < normal * 0.75)
    t.ok(speak(engine, SENTENCES['en-IN'], { pace: 0.5 }).pcm.length > normal * 1.5)
    t.ok(Math.abs(speak(engine, SENTENCES['en-IN']).pcm.length - normal) < 200, 'and back to normal')
  })

  t.test('markup is not interpreted', async (t) => {
    const { pcm } = speak(engine, 'Wait <break time="20s"/> here.')
    t.ok(pcm.length < 8 * 8000, `no pause of twenty seconds in ${pcm.length / 8000} s`)
    const { words } = speak(engine, 'Salt &amp; <b>pepper</b> [[h@loU]] please.')
    t.equal(words.at(-1)?.textOffset, 'Salt &amp; <b>pepper</b> [[h@loU]] '.length)
  })

  t.test('refusals', async (t) => {
    t.throws(() => speak(engine, 'Hi', { voice: 'nobody' }), { code: 'vendor_rejected' })
    t.throws(() => speak(engine, 'Hi', { language: 'fr-FR' }), { code: 'vendor_rejected' })
    t.throws(() => speak(engine, 'x'.repeat(4001)), { code: 'vendor_rejected' })
    t.throws(() => speak(engine, 'One two three. '.repeat(200), { limitMs: 0 }), { code: 'vendor_stalled' })
    t.ok(speak(engine, 'Hi').pcm.length > 0, 'and goes on')
    t.equal(speak(engine, '').words.length, 0)
  })
})

t.test('voice names', async (t) => {
  t.equal(espeakName('asha', 'od-IN'), 'or+f3')
  t.equal(espeakName('asha', 'or-IN'), 'or+f3')
  t.equal(espeakName('ravi', 'en-IN'), 'en+m3')
  t.equal(espeakName('asha', 'xx'), null)
  t.same([0, 0.5, 1, 9, Number.NaN].map(espeakRate), [88, 88, 175, 438, 175])
})
