import t from 'tap'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { openSpeechClips } from './speech-clips.js'

t.test('clips are found by name, at the session rate, and read once', async (t) => {
  const clips = openSpeechClips()
  const pcm = await clips.load('hello', 8000)
  t.same([...pcm], [...readClip(findClip('hello'))])
  t.equal(await clips.load('hello', 8000), pcm, 'the same samples again')
  const wide = await clips.load('hello', 16_000)
  t.equal(wide.length, pcm.length * 2)
})

t.test('an unknown clip', async (t) => {
  const clips = openSpeechClips()
  await t.rejects(clips.load('no-such-clip', 8000), {
    code: 'config_invalid',
    context: { clip: 'no-such-clip' },
  })
  await t.rejects(clips.load('../package', 8000), { code: 'config_invalid' }, 'names are not paths')
})
