import { existsSync } from 'node:fs'
import t from 'tap'
import { findClip, readClip } from '../../fixtures/speech/manifest.js'
import { resample } from '../../media/codec/resampler.js'
import { openPocketSphinx, textOf } from './pocketsphinx.js'

const MODEL = '/usr/share/pocketsphinx/model/en-us'

t.test('without its packages the command that installs them is told', async (t) => {
  t.throws(() => openPocketSphinx('/nowhere'), {
    code: 'config_invalid',
    message: /\/nowhere is missing: apt-get install pocketsphinx pocketsphinx-en-us/,
  })
})

t.test('the result of an utterance', async (t) => {
  t.equal(textOf('please try again (utterance -7421)\n'), 'please try again')
  t.equal(textOf('(utterance -3)\n'), '')
})

t.test(
  'an utterance is recognised in a process of its own',
  { skip: existsSync(MODEL) ? false : 'pocketsphinx-en-us is not installed' },
  async (t) => {
    const recogniser = openPocketSphinx()
    t.match(recogniser, { model: 'pocketsphinx', streaming: false })
    const audio = resample(readClip(findClip('test-u06-clean')), 8000, 16_000)
    const utterance = recogniser.begin()
    utterance.write(Float32Array.from(audio, (sample) => sample / 32768))
    t.equal(utterance.partial(), null)
    // Which words it finds in synthetic speech is not what is tested.
    t.match(await utterance.end(), /[a-z]/)
  },
)
