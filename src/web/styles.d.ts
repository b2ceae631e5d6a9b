// For tsc: esbuild puts what a page imports of these into its style sheet.
declare module "*.css";
