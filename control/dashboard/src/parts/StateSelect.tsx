import { NativeSelect } from '@mantine/core'
import { useLanguage } from '../i18n.js'

/** GST state codes of a billing address, with the names of the states in English and Hindi. */
const STATES: readonly (readonly [code: string, en: string, hi: string])[] = [
  ['01', 'Jammu and Kashmir', 'जम्मू और कश्मीर'],
  ['02', 'Himachal Pradesh', 'हिमाचल प्रदेश'],
  ['03', 'Punjab', 'पंजाब'],
  ['04', 'Chandigarh', 'चंडीगढ़'],
  ['05', 'Uttarakhand', 'उत्तराखंड'],
  ['06', 'Haryana', 'हरियाणा'],
  ['07', 'Delhi', 'दिल्ली'],
  ['08', 'Rajasthan', 'राजस्थान'],
  ['09', 'Uttar Pradesh', 'उत्तर प्रदेश'],
  ['10', 'Bihar', 'बिहार'],
  ['11', 'Sikkim', 'सिक्किम'],
  ['12', 'Arunachal Pradesh', 'अरुणाचल प्रदेश'],
  ['13', 'Nagaland', 'नागालैंड'],
  ['14', 'Manipur', 'मणिपुर'],
  ['15', 'Mizoram', 'मिज़ोरम'],
  ['16', 'Tripura', 'त्रिपुरा'],
  ['17', 'Meghalaya', 'मेघालय'],
  ['18', 'Assam', 'असम'],
  ['19', 'West Bengal', 'पश्चिम बंगाल'],
  ['20', 'Jharkhand', 'झारखंड'],
  ['21', 'Odisha', 'ओडिशा'],
  ['22', 'Chhattisgarh', 'छत्तीसगढ़'],
  ['23', 'Madhya Pradesh', 'मध्य प्रदेश'],
  ['24', 'Gujarat', 'गुजरात'],
  ['26', 'Dadra and Nagar Haveli and Daman and Diu', 'दादरा और नगर हवेली और दमन और दीव'],
  ['27', 'Maharashtra', 'महाराष्ट्र'],
  ['29', 'Karnataka', 'कर्नाटक'],
  ['30', 'Goa', 'गोवा'],
  ['31', 'Lakshadweep', 'लक्षद्वीप'],
  ['32', 'Kerala', 'केरल'],
  ['33', 'Tamil Nadu', 'तमिलनाडु'],
  ['34', 'Puducherry', 'पुदुचेरी'],
  ['35', 'Andaman and Nicobar Islands', 'अंडमान और निकोबार द्वीपसमूह'],
  ['36', 'Telangana', 'तेलंगाना'],
  ['37', 'Andhra Pradesh', 'आंध्र प्रदेश'],
  ['38', 'Ladakh', 'लद्दाख'],
  ['97', 'Other Territory', 'अन्य क्षेत्र'],
]

/** A choice of the states by name. The value is the GST code. */
export function StateSelect(props: {
  readonly label: string
  readonly required?: boolean
  readonly name: string
  readonly value: string
  readonly onChange: (event: { readonly currentTarget: { readonly value: string } }) => void
}) {
  const { language } = useLanguage()
  const states = STATES.map(([code, en, hi]) => ({
    value: code,
    label: `${language === 'hi' ? hi : en} (${code})`,
  }))
  return <NativeSelect {...props} data={[{ value: '', label: '–' }, ...states]} />
}
