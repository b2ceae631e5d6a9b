// Rules for the sources of the web pages: those that find mistakes; layout is not theirs.
import js from "@eslint/js";
import globals from "globals";

export default [
    js.configs.recommended,
    {
        files: ["**/*.js"],
        languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
        rules: {
            eqeqeq: "error",
            "no-var": "error",
            "prefer-const": ["error", { destructuring: "all" }],
            "no-implicit-globals": "error",
            "no-shadow": "error",
            "no-unused-vars": ["error", { argsIgnorePattern: "^_", caughtErrors: "none" }],
            "no-eval": "error",
            "no-implied-eval": "error",
            "no-throw-literal": "error",
            "no-promise-executor-return": "off",
            "require-atomic-updates": "off",
        },
    },
    { files: ["**/*.mjs"], languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.node } },
];
