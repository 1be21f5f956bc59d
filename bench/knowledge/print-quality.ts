/*
 * Prints the quality of the search on the sets of questions of the project, and with `--misses` the questions whose passage
 * it misses. With PARLEY_EMBEDDINGS_MODEL the vectors are those of this model. `npm run build`, then
 * `node dist/bench/knowledge/print-quality.js`.
 */
import { configuredEmbedder, qualityOf, qualityTable } from './quality.js'
import { QUESTION_SETS } from './question-set.js'

const print = (line: string) => process.stdout.write(`${line}\n`)

print(`Vectors: ${configuredEmbedder()?.id ?? 'fake, by hashes of words and sounds'}`)
for (const file of QUESTION_SETS) {
  const quality = await qualityOf(file)
  print(qualityTable(file, quality))
  if (!process.argv.includes('--misses')) continue
  for (const { kind, language, text } of quality.misses) print(`${kind} ${language}: ${text}`)
}
