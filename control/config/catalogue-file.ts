import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { errorText } from '../../media/base/errors.js'
import type { CatalogueData, Variable } from '../../media/vendors/vendor-module.js'
import { invalid, type Parsed, valid } from './parsers.js'

export const CATALOGUE_VARIABLES = [
  {
    name: 'PARLEY_CATALOGUE_FILE',
    default: '',
    description: 'JSON file that adds or replaces models and voices of the vendors (docs/vendors.md)',
  },
] as const satisfies readonly Variable[]

const languages = z.array(z.string().regex(/^[a-z]{2,3}-[A-Z]{2}$/, 'must be a tag such as en-IN')).min(1)
const pattern = z.string().refine((source) => {
  try {
    new RegExp(source)
    return true
  } catch {
    return false
  }
}, 'must be a regular expression')
const model = {
  model: z.string().min(1).optional(),
  pattern: pattern.optional(),
  label: z.string().optional(),
  checkedOn: z.iso.date(),
}

const named = (entry: { readonly model?: unknown; readonly pattern?: unknown }) =>
  (entry.model === undefined) !== (entry.pattern === undefined)
const NAMED = 'needs either model or pattern'

const VendorCatalogue = z.strictObject({
  recognitionModels: z
    .array(
      z
        .strictObject({
          ...model,
          languages,
          modes: z.array(z.enum(['transcribe', 'translate', 'codemix'])).min(1),
          fallback: z.string().optional(),
        })
        .refine(named, NAMED),
    )
    .optional(),
  languageModels: z
    .array(z.strictObject({ ...model, windowTokens: z.int().min(2048).optional() }).refine(named, NAMED))
    .optional(),
  speechModels: z
    .array(
      z
        .strictObject({
          ...model,
          languages,
          paceMin: z.number().positive(),
          paceMax: z.number().positive(),
          voices: z
            .array(
              z.strictObject({
                name: z.string().min(1),
                gender: z.enum(['female', 'male', 'neutral']).optional(),
              }),
            )
            .optional(),
          voicePattern: pattern.optional(),
          sttOfSameName: z.literal(true).optional(),
        })
        .refine(named, NAMED),
    )
    .optional(),
  retirements: z
    .array(
      z.strictObject({
        kind: z.enum(['recognitionModels', 'languageModels', 'speechModels']),
        pattern,
        retiresOn: z.iso.date(),
        successor: z.string().min(1).optional(),
        host: z.string().min(1),
        checkedOn: z.iso.date(),
      }),
    )
    .optional(),
})

/** The catalogue of vendors by their ids, as in `media/vendors/catalogue/`. */
export const Catalogue = z.record(z.string(), VendorCatalogue)

/** Returns a parser that reads the catalogue file; a relative path is below `base`. */
export function catalogueFile(base: string): (value: string) => Parsed<CatalogueData> {
  return (value) => {
    try {
      const parsed = Catalogue.safeParse(JSON.parse(readFileSync(resolve(base, value), 'utf8')))
      // Zod's optional fields admit undefined, which JSON cannot hold.
      if (parsed.success) return valid(parsed.data as CatalogueData)
      const [issue] = parsed.error.issues
      return invalid(`correct ${issue?.path.join('.')}: ${issue?.message}`)
    } catch (error) {
      return invalid(errorText(error))
    }
  }
}
