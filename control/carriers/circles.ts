/** Telecom circles of India by the codes that carriers use. */
export const CIRCLES = {
  AP: 'Andhra Pradesh and Telangana',
  AS: 'Assam',
  BR: 'Bihar and Jharkhand',
  DL: 'Delhi',
  GJ: 'Gujarat',
  HP: 'Himachal Pradesh',
  HR: 'Haryana',
  JK: 'Jammu and Kashmir',
  KA: 'Karnataka',
  KL: 'Kerala',
  KO: 'Kolkata',
  MH: 'Maharashtra and Goa',
  MP: 'Madhya Pradesh and Chhattisgarh',
  MU: 'Mumbai',
  NE: 'North East',
  OR: 'Odisha',
  PB: 'Punjab',
  RJ: 'Rajasthan',
  TN: 'Tamil Nadu',
  UE: 'Uttar Pradesh (East)',
  UW: 'Uttar Pradesh (West) and Uttarakhand',
  WB: 'West Bengal',
} as const

export type Circle = keyof typeof CIRCLES

/** Circles by the name of the state, as far as the names differ from those of the circles. */
const STATES: Readonly<Record<string, Circle>> = {
  'andhra pradesh': 'AP',
  telangana: 'AP',
  assam: 'AS',
  bihar: 'BR',
  jharkhand: 'BR',
  delhi: 'DL',
  'new delhi': 'DL',
  gujarat: 'GJ',
  'himachal pradesh': 'HP',
  haryana: 'HR',
  'jammu and kashmir': 'JK',
  karnataka: 'KA',
  kerala: 'KL',
  kolkata: 'KO',
  maharashtra: 'MH',
  goa: 'MH',
  'madhya pradesh': 'MP',
  chhattisgarh: 'MP',
  mumbai: 'MU',
  odisha: 'OR',
  punjab: 'PB',
  chandigarh: 'PB',
  rajasthan: 'RJ',
  'tamil nadu': 'TN',
  'west bengal': 'WB',
}

/** Returns the circle of a state as a carrier names it (`Karnataka`, `Karnataka, INDIA`), or `IN`. */
export function circleOf(state: unknown): string {
  const [name = ''] = typeof state === 'string' ? state.split(',') : []
  return STATES[name.trim().toLowerCase()] ?? 'IN'
}
