import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { readClipManifest } from './clip-manifest.js'
import { behaviourOf, isPersona, PERSONA_NAMES, personaSpec } from './personas.js'
import { SpeakerScripts } from './speaker-scripts.js'

t.test('the behaviour of each test number', async (t) => {
  t.strictSame(behaviourOf('+919000000002'), { kind: 'refuse', status: 486 })
  t.strictSame(behaviourOf('919000000002'), { kind: 'refuse', status: 486 })
  t.strictSame(behaviourOf('+919000000003'), { kind: 'ring' })
  t.strictSame(behaviourOf('+919000000005'), { kind: 'refuse', status: 503 })
  const personas: readonly [string, string][] = [
    ['001', 'polite'],
    ['004', 'voicemail'],
    ['006', 'media_dies'],
    ['007', 'no_more_calls'],
    ['008', 'wants_person'],
    ['009', 'talks_forever'],
    ['010', 'interrupts'],
    ['011', 'silent'],
    ['012', 'presses_digits'],
    ['013', 'screening'],
    ['014', 'polite'],
  ]
  for (const [suffix, persona] of personas) {
    t.strictSame(behaviourOf(`+919000000${suffix}`), { kind: 'answer', persona }, suffix)
  }
  t.strictSame(behaviourOf('+14155550123'), { kind: 'answer', persona: 'polite' })
})

t.test('every persona can be played with the existing clips', async (t) => {
  const clips = readClipManifest()
  for (const name of PERSONA_NAMES) {
    t.ok(isPersona(name))
    if (!isPersona(name)) continue
    const { script, steps, loopFrom } = personaSpec(name, clips)
    const said = steps.flatMap(({ act }) => (act.kind === 'say' ? [act.utterance] : []))
    t.strictSame(
      said,
      script.utterances.map((_, index) => index),
      `${name} says each utterance of its script, in order`,
    )
    t.ok(loopFrom === null || loopFrom < steps.length, name)
    for (const { words, onsetMs, offsetMs } of script.utterances) {
      t.ok(onsetMs < offsetMs, name)
      t.ok(words.every(({ startMs, endMs }) => startMs < endMs))
    }
  }
  t.notOk(isPersona('toString'))
  t.throws(() => personaSpec('polite', new Map()), { code: 'storage_failed' })
})

t.test('only clips of the sandbox set are read, and a malformed manifest is reported', async (t) => {
  t.notOk([...readClipManifest().keys()].some((name) => /^(test|tuning)-/.test(name)))
  const folder = t.testdir()
  const file = join(folder, 'manifest.json')
  t.throws(() => readClipManifest(file), { code: 'storage_failed' })
  for (const text of [
    '',
    '{}',
    '[1]',
    '[{"set":"sandbox"}]',
    '[{"set":"sandbox","clip":"a","text":"","language":"en-IN","onsetMs":0,"offsetMs":1,"words":[{}]}]',
  ]) {
    writeFileSync(file, text)
    t.throws(() => readClipManifest(file), { code: 'storage_failed' }, text)
  }
})

t.test('scripts by Call-ID are limited and expire', async (t) => {
  const clock = new VirtualClock()
  const scripts = new SpeakerScripts(clock, { limit: 3, lifeMs: 1000 })
  const script = { utterances: [] }
  scripts.announce('a')
  t.ok(scripts.isAnnounced('a'))
  t.equal(scripts.get('a'), null, 'announced, not yet registered')
  scripts.register('a', script)
  t.equal(scripts.get('a'), script)
  t.notOk(scripts.isAnnounced('x'))
  scripts.announce('b')
  scripts.announce('c')
  scripts.announce('d')
  t.equal(scripts.size, 3)
  t.notOk(scripts.isAnnounced('a'), 'the oldest went')
  clock.advance(1000)
  t.notOk(scripts.isAnnounced('d'), 'expired')
  scripts.announce('e')
  t.equal(scripts.size, 1)
  scripts.forget('e')
  t.equal(scripts.size, 0)
})
