import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from '../../base/project-root.js'
import type { CatalogueData, SpeechModelData } from '../vendor-module.js'

/** Returns a function that reads `media/vendors/catalogue/<module>.json` once. */
export function catalogueFile(module: string): () => CatalogueData {
  let data: CatalogueData | null = null
  return () => {
    data ??= JSON.parse(
      readFileSync(join(projectRoot, 'media', 'vendors', 'catalogue', `${module}.json`), 'utf8'),
    ) as CatalogueData
    return data
  }
}

/** Returns whether the name has the form of the voices that an entry does not list. */
export function mayHaveVoice({ voicePattern }: SpeechModelData, voice: string): boolean {
  return voicePattern !== undefined && new RegExp(voicePattern).test(voice)
}
