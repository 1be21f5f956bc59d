/** A model of the Bulbul family. Every speaker supports all eleven languages. */
export interface BulbulModel {
  readonly model: string
  readonly pace: readonly [number, number]
  readonly female: readonly string[]
  readonly male: readonly string[]
  readonly speakers: readonly string[]
}

const V2_FEMALE = ['anushka', 'manisha', 'vidya', 'arya']
const V2_MALE = ['abhilash', 'karun', 'hitesh']

// The vendor does not publish the gender of v3 speakers.
const V3_SPEAKERS = [
  'shubh',
  'aditya',
  'ritu',
  'priya',
  'neha',
  'rahul',
  'pooja',
  'rohan',
  'simran',
  'kavya',
  'amit',
  'dev',
  'ishita',
  'shreya',
  'ratan',
  'varun',
  'manan',
  'sumit',
  'roopa',
  'kabir',
  'aayan',
  'ashutosh',
  'advait',
  'anand',
  'tanya',
  'tarun',
  'sunny',
  'mani',
  'gokul',
  'vijay',
  'shruti',
  'suhani',
  'mohit',
  'kavitha',
  'rehan',
  'soham',
  'rupali',
]

export const BULBUL_MODELS: readonly BulbulModel[] = [
  {
    model: 'bulbul:v2',
    pace: [0.3, 3],
    female: V2_FEMALE,
    male: V2_MALE,
    speakers: [...V2_FEMALE, ...V2_MALE],
  },
  { model: 'bulbul:v3', pace: [0.5, 2], female: [], male: [], speakers: V3_SPEAKERS },
]

/** Returns the model, or null for a newer one, which the vendor then validates. */
export function findBulbulModel(model: string): BulbulModel | null {
  return BULBUL_MODELS.find((entry) => entry.model === model) ?? null
}
